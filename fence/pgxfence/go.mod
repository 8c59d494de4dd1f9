module github.com/fencerow/fencerow/fence/pgxfence

go 1.25.0

require (
	github.com/fencerow/fencerow v0.1.0
	github.com/jackc/pgx/v5 v5.13.0
)
