package drill

import _ "embed"

//go:embed sql/schema.sql
var createTable string

//go:embed sql/open_account.sql
var openAccount string

//go:embed sql/read_account.sql
var readAccount string

//go:embed sql/debit_unfenced.sql
var debitUnfenced string

//go:embed sql/judge.sql
var readFacts string
