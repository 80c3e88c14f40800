UPDATE meta SET value = value + 1 WHERE name = 'topics_version'
