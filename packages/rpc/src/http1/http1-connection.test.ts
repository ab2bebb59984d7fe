import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect } from "chai";
import { afterwards, listen, rawClient, releaseAfterEach } from "../rpc.fixture.js";

describe("an HTTP/1.1 connection", () => {
  releaseAfterEach();

  async function answersTo(requests: number): Promise<{ answers: number; parsed: number; received: string }> {
    let answers = 0;
    let parsed = 0;
    const onParsed = (): void => {
      parsed++;
    };
    subscribe("http.server.request.start", onParsed);
    afterwards(() => unsubscribe("http.server.request.start", onParsed));
    const listener = await listen({
      http: (_request, response) => {
        answers++;
        response.end("an answer");
      },
    });
    const client = await rawClient(listener);
    const last = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(requests - 1) + last);
    await client.closed;
    return { answers, parsed, received: client.received };
  }

  it("answers some requests that came ahead of the answers", async () => {
    const { answers, received } = await answersTo(20);
    expect(answers).to.equal(20);
    expect(received.split("an answer")).to.have.length(21);
  });

  it("is ended, before anything is done for it, if it sends too many at once", async () => {
    const { answers, parsed } = await answersTo(1_000);
    expect(answers).to.equal(0);
    expect(parsed).to.be.below(100);
  });
});
