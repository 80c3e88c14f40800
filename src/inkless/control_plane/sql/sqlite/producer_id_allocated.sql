SELECT allocated_ms FROM producer_id_blocks WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1
