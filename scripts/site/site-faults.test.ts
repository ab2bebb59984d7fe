import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { siteFaults } from "./site-faults.js";

describe("the faults of a site", () => {
  let site: string;
  beforeEach(() => {
    site = mkdtempSync(path.join(tmpdir(), "bunting-site-"));
  });
  afterEach(() => rmSync(site, { recursive: true }));

  it("are pages that are missing, anchors that are nowhere, and parts from elsewhere", () => {
    write(
      "index.html",
      '<a href="/a.html#here"></a><a href="/a#there"></a><a class="x" href="#own"></a><a href="./a.html#far"></a>',
    );
    write("a.html", '<h2 id="here"></h2><script src="https://cdn.example/x.js"></script><a href="/#no"></a>');
    expect(siteFaults(site, ["README.md", "a.md", "b.md"])).to.have.members([
      "b.html is missing",
      "index.html links to a.html#there, which is nowhere",
      "index.html links to index.html#own, which is nowhere",
      "index.html links to a.html#far, which is nowhere",
      "a.html loads https://cdn.example/x.js",
      "a.html links to index.html#no, which is nowhere",
    ]);
  });

  it("are none where all links lead somewhere, also to other sites", () => {
    write("index.html", '<h1 id="top"></h1><a href="#top"></a><a href="https://flagd.dev/#x"></a>');
    write("shot.png", "");
    mkdirSync(path.join(site, "flags"));
    write(
      "flags/index.html",
      '<a href="./../index.html#top"></a><a href="a.html#b"></a><a href="../#top"></a><a href="../shot.png"></a>',
    );
    write("flags/a.html", '<h2 id="b"></h2>');
    expect(siteFaults(site, ["README.md", "flags/README.md", "flags/a.md"])).to.deep.equal([]);
  });

  it("are links to files and pictures that are missing", () => {
    write("index.html", '<a href="./shot.png"></a><img src="/shown.png"><a href="../flags/#x"></a>');
    expect(siteFaults(site, [])).to.include.members([
      "index.html links to ./shot.png, which is missing",
      "index.html links to /shown.png, which is missing",
    ]);
  });

  function write(name: string, html: string): void {
    writeFileSync(path.join(site, name), html);
  }
});
