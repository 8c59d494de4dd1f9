module github.com/fencerow/fencerow

go 1.25.0
