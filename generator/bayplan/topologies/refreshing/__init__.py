"""A topology file brought up to date, edit by edit."""
