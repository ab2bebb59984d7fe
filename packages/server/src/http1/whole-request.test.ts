import { expect } from "chai";
import { wholeRequestReader, type WholeRequest } from "./whole-request.js";

const read = wholeRequestReader(["x-asked"], { maxHeaderBytes: 1_000, maxBodyBytes: 100 });
const readLarge = wholeRequestReader([], { maxHeaderBytes: 1_000_000, maxBodyBytes: 100 });
const of = (text: string): WholeRequest | undefined => read(Buffer.from(text, "latin1"));
const post = (headers: string, body = "", line = "POST /a HTTP/1.1"): WholeRequest | undefined =>
  of(`${line}\r\n${headers}\r\n\r\n${body}`);

describe("a whole request", () => {
  it("is read with its target, host, body and the headers that are asked for", () => {
    const request = post(
      "HOST:  a:1 \r\nX-asked: one, two\r\nAccept: */*\r\nContent-Length: 2",
      "{}",
      "POST /a/b%20c HTTP/1.1",
    );
    expect(request).to.include({ target: "/a/b%20c", host: "a:1" });
    expect(request?.body.toString()).to.equal("{}");
    expect(request?.header("x-asked")).to.equal("one, two");
    expect(request?.header("accept")).to.equal(undefined);
  });

  it("may have no body, and may ask for its connection to be kept", () => {
    for (const headers of ["host: a", "host: a\r\ncontent-length: 0", "host: a\r\nConnection: Keep-Alive"])
      expect(post(headers), headers).to.include({ host: "a" });
  });

  it("may be asked for host and content-length too", () => {
    const reader = wholeRequestReader(["host", "content-length"], {
      maxHeaderBytes: 1_000,
      maxBodyBytes: 100,
    });
    const request = reader(Buffer.from("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx"));
    expect(request?.header("host")).to.equal("a");
    expect(request?.header("content-length")).to.equal("1");
  });

  for (const [what, request] of Object.entries({
    "another method": of("GET /a HTTP/1.1\r\nhost: a\r\n\r\n"),
    "a method in small letters": of("post /a HTTP/1.1\r\nhost: a\r\n\r\n"),
    "another version": of("POST /a HTTP/1.0\r\nhost: a\r\n\r\n"),
    "a target with a query": of("POST /a?b HTTP/1.1\r\nhost: a\r\n\r\n"),
    "a whole URL as its target": of("POST http://a/a HTTP/1.1\r\nhost: a\r\n\r\n"),
    "two blanks in its first line": of("POST  /a HTTP/1.1\r\nhost: a\r\n\r\n"),
    "an empty line before it": of("\r\nPOST /a HTTP/1.1\r\nhost: a\r\n\r\n"),
    "no host": post("accept: a"),
    "no header at all": of("POST /a HTTP/1.1\r\n\r\n"),
    "two hosts": post("host: a\r\nHost: a"),
    "two lengths": post("host: a\r\ncontent-length: 1\r\nContent-length: 1", "x"),
    "a length with a sign": post("host: a\r\ncontent-length: +1", "x"),
    "lengths in a list": post("host: a\r\ncontent-length: 1, 1", "x"),
    "a length that is none": post("host: a\r\ncontent-length: 0x1", "x"),
    "a body that is not announced": post("host: a", "x"),
    "less than its body": post("host: a\r\ncontent-length: 2", "x"),
    "another request behind it": post("host: a\r\ncontent-length: 1", "xPOST /a HTTP/1.1\r\nhost: a\r\n\r\n"),
    "a body that is too large": post("host: a\r\ncontent-length: 101", "x".repeat(101)),
    "headers that are too large": post(`host: a\r\nx: ${"x".repeat(1_000)}`),
    "more headers than node takes": readLarge(
      Buffer.from(`POST /a HTTP/1.1\r\nhost: a\r\n${"x:\r\n".repeat(970)}\r\n`),
    ),
    "an unfinished head": of("POST /a HTTP/1.1\r\nhost: a\r\n"),
    "a body in chunks": post("host: a\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
    "chunks and a length": post("host: a\r\ncontent-length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    "an end of its connection": post("host: a\r\nconnection: close"),
    "several connection options": post("host: a\r\nconnection: keep-alive, upgrade"),
    "two headers about the connection": post("host: a\r\nconnection: keep-alive\r\nconnection: keep-alive"),
    "the old name of that header": post("host: a\r\nproxy-connection: close"),
    "an upgrade": post("host: a\r\nupgrade: h2c"),
    "an expectation": post("host: a\r\nexpect: 100-continue"),
    trailers: post("host: a\r\nte: trailers"),
    "an origin": post("host: a\r\norigin: http://a"),
    "a header twice that is asked for": post("host: a\r\nx-asked: 1\r\nX-Asked: 2"),
    "white space before a colon": post("host: a\r\nx : y"),
    "a header without a name": post("host: a\r\n: y"),
    "a header without a colon": post("host: a\r\nxy"),
    "a folded header": post("host: a\r\nx: y\r\n z"),
    "a line that ends without CR": post("host: a\r\nx: y\ntransfer-encoding: chunked"),
    "a CR within a line": post("host: a\r\nx: y\rz"),
    "a NUL": post("host: a\r\nx: y\0"),
    "bytes that are not ASCII": post("host: a\r\nx: \xff"),
  }))
    it(`with ${what} is left to node`, () => {
      expect(request).to.equal(undefined);
    });
});
