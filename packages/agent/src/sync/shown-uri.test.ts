import { expect } from "chai";
import { shownUri } from "./shown-uri.js";

describe("shownUri", () => {
  it("leaves out what may be a secret: a query, and a user with a password", () => {
    expect(shownUri("https://flags.example/a.json?sig=s3cret&x=1")).to.equal(
      "https://flags.example/a.json?…",
    );
    expect(shownUri("https://me:s3cret@flags.example/a@b")).to.equal("https://flags.example/a@b");
    for (const uri of ["proxy.example:8015", "/etc/flags/a.json", "unix:/run/a.sock", "shop/cart"])
      expect(shownUri(uri)).to.equal(uri);
  });

  it("shows no line break, and nothing that a terminal acts on", () => {
    expect(shownUri("/flags\nready\u001b[31m\u202e.json")).to.equal("/flags\ufffdready\ufffd[31m\ufffd.json");
  });
});
