#!/usr/bin/env bash
# Makes a cluster on this machine, with Bunting's operator and an application that asks for a flag. `kind delete cluster --name bunting` ends it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

kind create cluster --name bunting
for image in agent proxy operator; do
  docker build --file deploy/docker/$image.Dockerfile --tag bunting/bunting-$image:0.1.0 .
  kind load docker-image --name bunting bunting/bunting-$image:0.1.0
done

helm upgrade --install bunting-operator deploy/helm/bunting-operator --namespace bunting-system --create-namespace \
  --set image.repository=docker.io/bunting/bunting-operator \
  --set options.proxy-image=docker.io/bunting/bunting-proxy --set options.sidecar-image=docker.io/bunting/bunting-agent
kubectl -n bunting-system rollout status deployment/bunting-operator

kubectl apply -k examples/application
kubectl -n shop rollout status deployment/shop
