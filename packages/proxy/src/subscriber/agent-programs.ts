import { cut } from "@bunting/runtime";

/** A program, as agents name it in their first message, and how many streams it has. */
export interface AgentProgram {
  readonly name: string;
  readonly streams: number;
}

interface Counted extends AgentProgram {
  streams: number;
}

const maxPrograms = 32;
const maxNameCharacters = 64;
const others = "other programs";

/** Programs and versions with streams of bunting.sync.v1. Agents choose names freely, so at most 32 are kept, shared by all streams. */
export class AgentPrograms {
  readonly #programs = new Map<string, Counted>();

  get all(): Iterable<AgentProgram> {
    return this.#programs.values();
  }

  enter(said: string): AgentProgram {
    const known = cut(said, maxNameCharacters);
    const name = this.#programs.has(known) || this.#programs.size < maxPrograms ? known : others;
    let program = this.#programs.get(name);
    if (program === undefined) this.#programs.set(name, (program = { name, streams: 0 }));
    program.streams++;
    return program;
  }

  leave(program: AgentProgram): void {
    if (--(program as Counted).streams === 0) this.#programs.delete(program.name);
  }
}
