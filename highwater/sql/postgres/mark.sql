SELECT number FROM fencerow_high_water WHERE source = $1 AND resource = $2;
