"""What pytest loads for all tests: the surroundings they rely on, and the fixtures they share."""

pytest_plugins = ["support.every_test", "support.order", "support.fixtures", "support.postgres"]
