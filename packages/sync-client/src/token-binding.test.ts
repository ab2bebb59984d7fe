import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { checkTokenBinding, isMeantFor } from "./token-binding.js";

describe("isMeantFor", () => {
  const meant: readonly (readonly [server: string, hosts: string])[] = [
    ["https://flags.example.com", "flags.example.com"],
    ["https://flags.example.com:8443", "flags.example.com"],
    ["https://flags.example.com:8443", "other.example.com, FLAGS.example.com:8443\n"],
    ["https://flags.example.com", "https://flags.example.com:443/"],
    ["http://flags.shop.svc:8080", "http://flags.shop.svc:8080"],
    ["http://flags.shop.svc", "http://flags.shop.svc"],
    ["https://[fd00::1]:8015", "[fd00::1]:8015"],
  ];
  const refused: readonly (readonly [server: string, hosts: string])[] = [
    ["https://flags.example.com", ""],
    ["https://flags.example.com", "example.com *.example.com *"],
    ["https://flags.example.com.evil.test", "flags.example.com"],
    ["https://flags.example.com:8443", "flags.example.com:443"],
    ["https://flags.example.com:8443", "https://flags.example.com:443"],
    ["http://flags.example.com", "flags.example.com"],
    ["https://flags.example.com", "http://flags.example.com"],
    ["https://evil.test", "flags.example.com@evil.test"],
    ["https://evil.test", "flags.example.com#@evil.test evil.test/flags evil.test?"],
    ["https://", "flags.example.com"],
    ["", ""],
  ];

  for (const [server, hosts] of meant)
    it(`finds ${server} in ${JSON.stringify(hosts)}`, () => expect(isMeantFor(server, hosts)).to.equal(true));
  for (const [server, hosts] of refused)
    it(`does not find ${server} in ${JSON.stringify(hosts)}`, () =>
      expect(isMeantFor(server, hosts)).to.equal(false));
});

describe("checkTokenBinding", () => {
  let directory: string;
  let hostsFile: string;

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "bunting-binding-"));
    hostsFile = path.join(directory, "hosts");
  });

  afterEach(() => rm(directory, { recursive: true }));

  const check = (server: string): Promise<string> =>
    checkTokenBinding({ hostsFile, server }).then(
      () => "sent",
      (error: unknown) => (error as Error).message,
    );

  it("reads the file each time, and says what to add to it", async () => {
    expect(await check("https://flags.test")).to.match(/hosts, which has to name its host, can't be read/);
    await writeFile(hostsFile, "other.test");
    expect(await check("https://flags.test")).to.match(/add flags\.test there$/);
    expect(await check("http://flags.test:80")).to.match(/add http:\/\/flags\.test:80 there$/);
    await writeFile(hostsFile, "other.test flags.test");
    expect(await check("https://flags.test")).to.equal("sent");
  });
});
