import { expect } from "chai";
import { relativeLinks } from "./relative-links.js";

describe("the links of a page of the site", () => {
  it("lead from where the page is, and to files, not folders", () => {
    const html =
      '<link rel="preload stylesheet" href="/assets/a.css"><a class="x" href="/start/#top">s</a><a href="./../flags/">f</a><img src="/assets/b.png" alt="">';
    expect(relativeLinks(html, "operate/proxy.html")).to.equal(
      '<link rel="preload stylesheet" href="../assets/a.css"><a class="x" href="../start/index.html#top">s</a><a href="./../flags/index.html">f</a><img src="../assets/b.png" alt="">',
    );
    expect(relativeLinks('<a href="/"></a><a href="/start/node.html"></a>', "index.html")).to.equal(
      '<a href="./index.html"></a><a href="./start/node.html"></a>',
    );
  });

  it("stay as they are to anchors and other sites, and where a server shows the page for any path", () => {
    const html =
      '<a href="#here"></a><a href="https://flagd.dev/"></a><a href="mailto:a@example.com"></a><script>a("b")</script>';
    expect(relativeLinks(html, "start/node.html")).to.equal(html);
    const notFound = '<link rel="modulepreload" href="/assets/c.js">';
    expect(relativeLinks(notFound, "404.html")).to.equal(notFound);
  });

  it("tell scripts, which are named from the page too, below which path the site is", () => {
    const data = String.raw`window.__VP_SITE_DATA__=JSON.parse("{\"base\":\"/\",\"text\":\");\"}");`;
    const html = `<link rel="modulepreload" href="/assets/c.js"><script type="module" src="/assets/d.js"></script><script>${data}</script>`;
    expect(relativeLinks(html, "start/node.html")).to.equal(
      `<link rel="modulepreload" href="../assets/c.js"><script type="module" src="../assets/d.js"></script><script>${data}__VP_SITE_DATA__.base=new URL("../",location).pathname;</script>`,
    );
    expect(relativeLinks(html, "index.html")).to.contain('base=new URL("./",location)');
  });
});
