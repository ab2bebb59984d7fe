import { KubeError, type KubeObject, type ObjectScope } from "@bunting/kube";
import { expect } from "chai";
import { ownPlace, type OwnPlace } from "./own-place.js";

const signal = new AbortController().signal;
const metadata = { name: "operator-1" };

/** The place that the answer about the operator's own Pod shows. */
function placeBy(answer: KubeObject | KubeError): Promise<OwnPlace> {
  const get = ({ type, namespace, name }: ObjectScope): Promise<KubeObject> => {
    expect([type.plural, namespace, name]).to.deep.equal(["pods", "flags", "operator-1"]);
    return answer instanceof KubeError ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return ownPlace({ get }, { namespace: "flags", name: "operator-1" }, signal);
}

describe("the place of the operator's own Pod", () => {
  const usual = { choosesUser: true, isOnNode: false };

  it("is any namespace and the network of Pods, unless the Pod shows another", async () => {
    expect(await placeBy({ metadata, spec: {} })).to.deep.equal(usual);
    const annotations = { "openshift.io/scc": "restricted-v2" };
    const onOpenShift = { metadata: { ...metadata, annotations }, spec: {} };
    expect(await placeBy(onOpenShift)).to.deep.equal({ ...usual, choosesUser: false });
    const onNode = { metadata, spec: { hostNetwork: true } };
    expect(await placeBy(onNode)).to.deep.equal({ ...usual, isOnNode: true });
  });

  it("is the usual one where the operator runs in no Pod", async () => {
    expect(await placeBy(new KubeError("NOT_FOUND", "there is none"))).to.deep.equal(usual);
  });

  it("is not known while no API server can be asked", async () => {
    const away = new KubeError("CONNECTION_REFUSED", "away");
    expect(await placeBy(away).catch((error: unknown) => error)).to.equal(away);
  });
});
