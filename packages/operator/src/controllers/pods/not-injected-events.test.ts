import type { EventDetails, ObjectMeta } from "@bunting/kube";
import { expect } from "chai";
import { notInjectedReasons } from "../../pod/reasons.js";
import { NotInjectedEvents } from "./not-injected-events.js";

describe("NotInjectedEvents", () => {
  let events: EventDetails[];
  let observer: NotInjectedEvents;

  function pod(reason?: string, owner?: string, uid = "1"): ObjectMeta {
    const annotations = reason === undefined ? {} : { "bunting.dev/not-injected": reason };
    const reference = { apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: "o", controller: true };
    const ownerReferences = owner === undefined ? [] : [reference];
    return { namespace: "shop", name: "web", uid, annotations, ownerReferences };
  }

  beforeEach(() => {
    events = [];
    observer = new NotInjectedEvents({ record: (event) => void events.push(event) });
  });

  it("tell the owner of a Pod why it was given no flags, once a Pod", () => {
    observer.seen("shop/web", pod("PortTaken", "web-7d9f"));
    observer.seen("shop/web", pod("PortTaken", "web-7d9f"));
    expect(events).to.deep.equal([
      {
        regarding: {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: "web-7d9f",
          uid: "o",
          namespace: "shop",
        },
        related: { apiVersion: "v1", kind: "Pod", namespace: "shop", name: "web", uid: "1" },
        type: "Warning",
        reason: "PortTaken",
        action: "Inject",
        note: `The Pod web was given no flags: ${notInjectedReasons.PortTaken}.`,
      },
    ]);
    observer.gone("shop/web");
    observer.seen("shop/web", pod("PortTaken", "web-7d9f"));
    observer.seen("shop/web", pod("PortTaken", "web-7d9f", "2"));
    expect(events).to.have.lengthOf(3);
  });

  it("are of the Pod itself where it has no owner", () => {
    observer.seen("shop/web", pod("Windows"));
    expect(events[0]?.regarding).to.deep.include({ kind: "Pod", name: "web" });
    expect(events[0]).to.not.have.property("related");
  });

  it("say nothing of other Pods, and repeat no words of others", () => {
    for (const reason of [undefined, "", "toString", "buy now"]) observer.seen("shop/web", pod(reason));
    expect(events).to.deep.equal([]);
  });
});
