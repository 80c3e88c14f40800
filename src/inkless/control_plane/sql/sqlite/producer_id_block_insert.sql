INSERT INTO producer_id_blocks (first_id, allocated_ms) VALUES (?, ?)
