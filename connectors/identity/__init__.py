"""Who people are, one file a system that knows."""
