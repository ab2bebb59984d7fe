import { syncV1 } from "@bunting/protocol";
import { expect } from "chai";
import { dataFrame, frame, frameFlag, frameType } from "../../bench/load/http2-frames.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { portOf, startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { testSeed } from "../support/seed.js";
import { seededRandom } from "../support/seeded-random.js";
import { TempDirectory } from "../support/temp-directory.js";
import { TokenIssuer } from "../support/token-issuer.js";
import { HostilePeer, literalHeader, prefixed } from "./support/hostile-peer.js";

const teams = ["team-a", "team-b", "team-c"];
const connectionsAtOnce = 12;
const rounds = 150;
const tableBytes = 4_096;
const staticEntries = 61;
const path = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";
/** All but the credential: the same on every connection, and none of it in the table. */
const plainBlock = Buffer.concat([
  Buffer.of(0x83, 0x86),
  literalHeader(":path", path),
  literalHeader(":authority", "proxy"),
  literalHeader("content-type", "application/grpc"),
  literalHeader("te", "trailers"),
]);

interface Client {
  readonly peer: HostilePeer;
  /** The tokens in the table of its connection, the newest first. */
  readonly table: string[];
}

interface Sent {
  readonly peer: HostilePeer;
  readonly streamId: number;
  readonly isAllowed: boolean;
}

/**
 * A token that is in the table of a connection is sent as one byte, the same that is another token, or none, on other connections and at
 * other times: whoever takes one for another lets a caller read what it may not.
 */
describe("tokens that are sent as a place in the header table of their connection", () => {
  const issuer = new TokenIssuer();
  const directory = new TempDirectory();
  const flags = new TempDirectory();
  const clients: Client[] = [];
  let proxy: ProxyProcess;

  before(async () => {
    directory.replace("jwks.json", issuer.keySet);
    for (const team of teams) flags.replace(`${team}.yaml`, manifest("checkout", 1, team));
    proxy = await startProxy(flags.path, [
      ...["--auth=token", "--auth-issuer", issuer.name, "--auth-jwks-file", directory.file("jwks.json")],
    ]);
    for (let index = 0; index < connectionsAtOnce; index++)
      clients.push({ peer: await HostilePeer.connect(portOf(proxy)), table: [] });
  });

  after(async () => {
    for (const { peer } of clients) peer.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    directory.remove();
    flags.remove();
  });

  const entryBytes = (token: string): number => "authorization".length + `Bearer ${token}`.length + 32;

  /** Adds a token to the table, from which the oldest go where there is no room. */
  function added(table: string[], token: string): Buffer {
    table.unshift(token);
    const bytes = (): number => table.reduce((sum, each) => sum + entryBytes(each), 0);
    while (bytes() > tableBytes) table.pop();
    const literal = literalHeader("authorization", `Bearer ${token}`);
    literal[0] = 0x40;
    return literal;
  }

  it("are that token's on that connection at that time, whatever others have sent", async () => {
    const random = seededRandom(testSeed);
    const one = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const tokens = new Map<string, string>();
    // Of several lengths, so that tables of one length differ.
    for (const team of teams)
      for (const name of ["web", "a-longer-name"]) tokens.set(issuer.issue(team, name), team);
    const all: Sent[] = [];
    for (let round = 0; round < rounds; round++) {
      const sent: Sent[] = [];
      for (const { peer, table } of clients) {
        const blocks: Buffer[] = [plainBlock];
        let token: string | undefined;
        // The table is emptied now and then.
        if (random() < 0.05) {
          blocks.unshift(Buffer.of(0x20), Buffer.from([0x3f, 0xe1, 0x1f]));
          table.length = 0;
        }
        const choice = random();
        if (choice < 0.15 || table.length === 0) {
          token = one([...tokens.keys()]);
          blocks.push(added(table, token));
        } else if (choice < 0.95) {
          const place = Math.floor(random() * table.length);
          token = table[place];
          blocks.push(Buffer.of(0x80 | (staticEntries + 1 + place)));
        }
        const team = one(teams);
        const streamId = peer.takeStreamId();
        const message = syncV1.FetchAllFlagsRequest.encode({ providerId: "", selector: `${team}/checkout` });
        const headers = frame(frameType.headers, frameFlag.endHeaders, streamId, Buffer.concat(blocks));
        await peer.send(Buffer.concat([headers, dataFrame(streamId, prefixed(message.finish()), true)]));
        sent.push({ peer, streamId, isAllowed: token !== undefined && tokens.get(token) === team });
      }
      await eventually(() => sent.every(({ peer, streamId }) => peer.ended.has(streamId)), "the answers");
      for (const { peer, streamId, isAllowed } of sent)
        expect(peer.dataBytes.has(streamId), `round ${round}: has flags`).to.equal(isAllowed);
      all.push(...sent);
    }
    const allowed = all.filter(({ isAllowed }) => isAllowed).length;
    expect(allowed, "those that were let in").to.be.within(all.length / 10, all.length / 2);
  });
});
