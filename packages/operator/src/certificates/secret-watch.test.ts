import type { ResourceScope } from "@bunting/kube";
import { aborted } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import type { SecretObject } from "./secret-content.js";
import { SecretWatch } from "./secret-watch.js";
import { webhookKeySecret } from "./webhook-key-secret.js";

type Changed = (key: string, secret: SecretObject | undefined) => void;

describe("SecretWatch", () => {
  it("holds what the Secret has, and what it last had once that is gone or spoilt", async () => {
    const scopes: ResourceScope[] = [];
    let changed: Changed | undefined;
    const logger = recordingLogger();
    const watch = new SecretWatch(webhookKeySecret, {
      watches: {
        inform: (scope: ResourceScope, { handler }: { readonly handler: { readonly changed: Changed } }) => {
          scopes.push(scope);
          changed = handler.changed;
          return { run: () => Promise.resolve() } as never;
        },
      },
      namespace: "bunting",
      context: { logger },
    });
    const heard: number[] = [];
    watch.onChange((items) => heard.push(items.length));
    await watch.run(new AbortController().signal);
    expect(scopes[0]).to.deep.include({ namespace: "bunting", name: "bunting-operator-webhook-keys" });
    expect(watch.lastItems).to.deep.equal([]);
    const keys = [{ key: "k".repeat(43), madeMs: 0 }];
    const metadata = { name: "bunting-operator-webhook-keys" };
    changed?.("", { metadata, data: webhookKeySecret.dataOf(keys) });
    expect([watch.items, watch.lastItems]).to.deep.equal([keys, keys]);
    changed?.("", { metadata, data: { "keys.json": "e30=" } });
    changed?.("", undefined);
    expect([watch.items, watch.lastItems]).to.deep.equal([[], keys]);
    expect(heard).to.deep.equal([1, 0, 0]);
    expect(logger.lines.filter(({ level }) => level === "warn")).to.have.length(1);
  });

  it("holds nothing once it does not watch any more: others may have replaced it, or taken it away, by the next time", async () => {
    let changed: Changed | undefined;
    const watch = new SecretWatch(webhookKeySecret, {
      watches: {
        inform: (_scope: ResourceScope, { handler }: { readonly handler: { readonly changed: Changed } }) => {
          changed = handler.changed;
          return { run: aborted } as never;
        },
      },
      namespace: "bunting",
      context: { logger: recordingLogger() },
    });
    const abort = new AbortController();
    const running = watch.run(abort.signal);
    const keys = [{ key: "k".repeat(43), madeMs: 0 }];
    changed?.("", { metadata: { name: "s" }, data: webhookKeySecret.dataOf(keys) });
    expect(watch.items).to.deep.equal(keys);
    abort.abort();
    await running;
    expect([watch.items, watch.lastItems]).to.deep.equal([[], keys]);
  });
});
