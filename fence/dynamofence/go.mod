module github.com/fencerow/fencerow/fence/dynamofence

go 1.25.0

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.74.0
	github.com/fencerow/fencerow v0.1.0
)
