"""What a writer of SQL needs of a database: the tables, columns, joins and values that a question means."""
