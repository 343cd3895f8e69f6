"""What an operator does to a whole warehouse now and then."""
