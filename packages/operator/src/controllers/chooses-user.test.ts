import { KubeError, type KubeObject, type ObjectScope } from "@bunting/kube";
import { expect } from "chai";
import { choosesUser } from "./chooses-user.js";

const signal = new AbortController().signal;
const pod = { namespace: "flags", name: "operator-1" };

/** The answer about the operator's own Pod. */
function choosesBeside(answer: KubeObject | KubeError): Promise<boolean> {
  const get = ({ type, namespace, name }: ObjectScope): Promise<KubeObject> => {
    expect([type.plural, namespace, name]).to.deep.equal(["pods", "flags", "operator-1"]);
    return answer instanceof KubeError ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return choosesUser({ get }, pod, signal);
}

describe("the user of Pods beside the operator's own", () => {
  it("is named, unless OpenShift has given the operator's Pod its user", async () => {
    expect(await choosesBeside({ metadata: { name: "operator-1" } })).to.equal(true);
    const annotations = { "openshift.io/scc": "restricted-v2" };
    expect(await choosesBeside({ metadata: { name: "operator-1", annotations } })).to.equal(false);
  });

  it("is named where the operator runs in no Pod", async () => {
    expect(await choosesBeside(new KubeError("NOT_FOUND", "there is none"))).to.equal(true);
  });

  it("is not known while no API server can be asked", async () => {
    const away = new KubeError("CONNECTION_REFUSED", "away");
    expect(await choosesBeside(away).catch((error: unknown) => error)).to.equal(away);
  });
});
