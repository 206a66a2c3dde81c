"""The parts of `bayplan.document`; nothing else imports them."""
