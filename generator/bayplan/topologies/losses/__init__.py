"""What each format of an export cannot hold."""
