"""The services that the app has beside it on Azure, and its host, run on this machine."""
