import { expect } from "chai";
import { proxyDeployment, sidecarObject } from "./extension-request.fixture.js";
import { mapContainers, mapPodTexts, mapTexts } from "./pod-parts.js";

const service = { apiVersion: "v1", kind: "Service", metadata: { name: "flagd-proxy" } };
const put = () => ({ b: "2" });

describe("mapContainers", () => {
  it("changes the containers of a Deployment, and no init container", () => {
    const changed = mapContainers(proxyDeployment(), (container) => ({ ...container, tty: true }));
    expect(JSON.stringify(changed).match(/"tty":true/g)).to.have.length(2);
    expect(JSON.stringify(changed)).to.include('"initContainers":[{"name":"wait","image":"wait:1"}]');
  });

  it("changes the container of a Sidecar, if it has one", () => {
    const changed = mapContainers(sidecarObject(), () => ({ name: "changed" }));
    expect(changed["spec"]).to.deep.equal({ container: { name: "changed" } });
    const inProcess = { ...sidecarObject(), spec: {} };
    expect(mapContainers(inProcess, () => expect.fail("it has none"))).to.equal(inProcess);
  });

  it("leaves an object alone that has none", () => {
    expect(mapContainers(service, () => expect.fail("it has none"))).to.equal(service);
  });
});

describe("mapPodTexts and mapTexts", () => {
  it("change the annotations and labels of a Deployment, and those of its Pods", () => {
    const object = proxyDeployment();
    expect(mapTexts(object, "labels", put).metadata["labels"]).to.deep.equal({ b: "2" });
    expect(mapTexts(object, "annotations", put).metadata["annotations"]).to.deep.equal({ b: "2" });
    const changed = mapPodTexts(object, "annotations", (texts) => ({ ...texts, b: "2" }));
    expect(changed.metadata).to.equal(object.metadata);
    expect(JSON.stringify(changed)).to.include('"annotations":{"a":"1","b":"2"}');
  });

  it("take the annotations of a Sidecar for those of its Pods, and know no labels of it", () => {
    for (const map of [mapTexts, mapPodTexts]) {
      expect(map(sidecarObject(), "annotations", put).metadata["annotations"]).to.deep.equal({ b: "2" });
      expect(map(sidecarObject(), "labels", put)).to.deep.equal(sidecarObject());
    }
  });

  it("add nothing to an object without Pods, and no empty annotations", () => {
    expect(mapPodTexts(service, "annotations", put)).to.equal(service);
    expect(mapTexts(service, "annotations", (texts) => texts)).to.equal(service);
  });
});
