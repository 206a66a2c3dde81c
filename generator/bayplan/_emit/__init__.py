"""The parts of `bayplan.emit`; nothing else imports them."""
