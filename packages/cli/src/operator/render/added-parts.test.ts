import { expect } from "chai";
import type { ShownPod } from "../shown-pod.js";
import { addedParts } from "./added-parts.js";

const token = { name: "token", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" };
const app = { name: "app", env: [{ name: "A", value: "1" }], volumeMounts: [token] };
const before: ShownPod = {
  metadata: { labels: { app: "web" }, annotations: { own: "1" } },
  spec: {
    containers: [app],
    initContainers: [{ name: "init" }],
    volumes: [{ name: "kube-api-access-aaaaa" }],
  },
};
const sidecar = { name: "flagd", image: "agent" };

describe("addedParts", () => {
  it("names containers, volumes, labels and annotations, and by container what it got", () => {
    const socket = { name: "socket", mountPath: "/run/openfeature" };
    const host = { name: "FLAGD_HOST", value: "localhost" };
    const after: ShownPod = {
      metadata: { labels: { app: "web", agent: "1" }, annotations: { own: "2", mark: "x" } },
      spec: {
        containers: [{ ...app, env: [...app.env, host], volumeMounts: [token, socket] }],
        initContainers: [sidecar, { name: "init", env: [host] }],
        volumes: [{ name: "kube-api-access-bbbbb" }, { name: "socket", emptyDir: {} }],
      },
    };
    expect(addedParts(before, after)).to.deep.equal({
      labels: { agent: "1" },
      annotations: { own: "2", mark: "x" },
      containers: [sidecar],
      volumes: [{ name: "socket", emptyDir: {} }],
      completed: [
        { name: "init", env: [host], mounts: [] },
        { name: "app", env: [host], mounts: [socket] },
      ],
    });
  });

  it("finds nothing in the same Pod", () => {
    const { containers, volumes, completed } = addedParts(before, before);
    expect([...containers, ...volumes, ...completed]).to.deep.equal([]);
  });
});
