"""Code bound to a project that runs, first on a sample and then in full."""
