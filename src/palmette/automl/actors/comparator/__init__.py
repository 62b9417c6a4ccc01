"""The choice by verified out-of-fold outputs, written as a package and fitted on all training rows."""
