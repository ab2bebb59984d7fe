package main

import (
	"context"
	"fmt"
	"log"

	flagd "github.com/open-feature/go-sdk-contrib/providers/flagd/pkg"
	"github.com/open-feature/go-sdk/openfeature"
)

func main() {
	provider, err := flagd.NewProvider()
	if err != nil {
		log.Fatal(err)
	}
	if err := openfeature.SetProviderAndWait(provider); err != nil {
		log.Fatal(err)
	}
	client := openfeature.NewClient("welcome")

	user := openfeature.NewEvaluationContext("user-9", map[string]any{"email": "ada@example.com"})
	isOn, _ := client.BooleanValue(context.Background(), "new-welcome", false, user)
	fmt.Printf("new-welcome = %t\n", isOn)

	openfeature.Shutdown()
}
