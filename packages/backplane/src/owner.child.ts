/** An owner of one topic that writes version after version under its lease, and prints what becomes of each. */
import { systemClock } from "@bunting/runtime";
import type { BackplaneError } from "./backplane-error.js";
import { OwnerLease } from "./lease/owner-lease.js";
import { unlimitedRoom } from "./record/unlimited-room.fixture.js";
import { RecordCodec } from "./record/record-codec.js";
import { RecordKeys } from "./record/record-keys.js";
import { Records } from "./record/records.js";
import { TestReplica } from "./replica.fixture.js";

const topic = "demo/a";
const [, , address = ""] = process.argv;
const { connection, keys } = await TestReplica.connected({ address, commandTimeoutMs: 60_000 });
const codec = new RecordCodec(100_000, () => RecordKeys.none, unlimitedRoom);
const records = new Records({ connection, keys, codec, shards: 2, announcements: 5, clock: systemClock });
const ownerLease = new OwnerLease({ connection, keys, holder: "owner", leaseMs: 500, clock: systemClock });
const lease = await ownerLease.acquire();
if (lease === undefined) throw new Error("the lease is held");
for (let version = 1; ; version++) {
  try {
    const document = { flags: { f: { state: `v${version}` } } };
    await ownerLease.renew(lease);
    const resourceVersion = String(version);
    await records.write({ topic, kind: "document", epoch: 1, resourceVersion, document }, lease);
    console.log(`written ${version}`);
  } catch (error) {
    console.log((error as BackplaneError).code);
    process.exit(0);
  }
}
