"""The web page: a thin face that reads journals, starts runs in processes of their own, and passes answers on."""
