SELECT base_offset, last_offset, running_max, max_timestamp
FROM coordinates
WHERE pid = ? AND base_offset <= ?
ORDER BY base_offset DESC
LIMIT 1
