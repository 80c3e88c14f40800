UPDATE meta SET value = value + :count WHERE name = 'next_producer_id' RETURNING value - :count
