import assert from "node:assert/strict";
import { test } from "node:test";
import { InMemoryProvider, OpenFeature } from "@openfeature/server-sdk";

test("both checkouts work, whatever the flag says", async () => {
  for (const variant of ["on", "off"]) {
    const flag = { variants: { on: true, off: false }, defaultVariant: variant, disabled: false };
    await OpenFeature.setProviderAndWait(new InMemoryProvider({ "new-checkout": flag }));
    // Your own code stands here. It asks as ever, and no agent runs.
    const isNew = await OpenFeature.getClient().getBooleanValue("new-checkout", false);
    assert.equal(isNew, variant === "on");
  }
});
