import type { BoundValue } from '../core/domain/ports/engine-ports.ts'
import { HOUR_MS } from '../core/time.ts'
import { type VariableScope, Variables } from './variables.ts'

/** Which session a request belongs to. */
export interface SessionName {
  /** Whoever is logged in; empty: nobody. Another login has other sessions, whatever their names. */
  readonly login: string
  /** What the client calls it; empty: the login's own. */
  readonly name: string
}

export interface SessionLimits {
  readonly sessionsMax: number
  /** Of one session's variables, names included. */
  readonly sessionBytesMax: number
  /** Of all sessions. */
  readonly bytesMax: number
  /** A session that no request names for so long ends. */
  readonly idleMs: number
}

const SESSION_LIMITS: SessionLimits = {
  sessionsMax: 1_000,
  sessionBytesMax: 8 * 1024 * 1024,
  bytesMax: 64 * 1024 * 1024,
  // As long as MySQL keeps a connection that is idle.
  idleMs: 8 * HOUR_MS,
}

interface Session {
  readonly login: string
  readonly variables: Variables
  usedMs: number
}

/**
 * What is kept between the requests of one client: its variables. A session begins with its first SET. Where there is no
 * room, the one that was not used for the longest time ends.
 */
export class Sessions {
  /** The one that was not used for the longest time comes first. */
  readonly #sessions = new Map<string, Session>()
  readonly #limits: SessionLimits
  readonly #nowMs: () => number

  /** @param nowMs milliseconds, for differences */
  constructor(limits: SessionLimits = SESSION_LIMITS, nowMs: () => number = performance.now) {
    this.#limits = limits
    this.#nowMs = nowMs
  }

  get size(): { readonly sessions: number; readonly bytes: number } {
    return { sessions: this.#sessions.size, bytes: this.#bytes() }
  }

  /** @param name null: the variables are those of one request, and gone with it */
  variablesOf(name: SessionName | null): VariableScope {
    if (name === null) return new Variables(this.#limits.sessionBytesMax)
    const key = JSON.stringify([name.login, name.name])
    this.#use(key)
    return {
      get: (variable) => this.#sessions.get(key)?.variables.get(variable),
      set: (values) => this.#set(key, name.login, values),
    }
  }

  /** Ends all sessions of a login. */
  drop(login: string): void {
    for (const [key, session] of this.#sessions) {
      if (session.login === login) this.#sessions.delete(key)
    }
  }

  #use(key: string): void {
    const session = this.#sessions.get(key)
    if (session === undefined) return
    this.#sessions.delete(key)
    const nowMs = this.#nowMs()
    if (nowMs - session.usedMs > this.#limits.idleMs) return
    session.usedMs = nowMs
    this.#sessions.set(key, session)
  }

  #set(key: string, login: string, values: ReadonlyMap<string, BoundValue>): void {
    const variables =
      this.#sessions.get(key)?.variables ?? new Variables(this.#limits.sessionBytesMax)
    variables.set(values)
    this.#sessions.delete(key)
    this.#sessions.set(key, { login, variables, usedMs: this.#nowMs() })
    this.#makeRoom()
  }

  #makeRoom(): void {
    const { sessionsMax, bytesMax, idleMs } = this.#limits
    const idleSinceMs = this.#nowMs() - idleMs
    let bytes = this.#bytes()
    for (const [key, { variables, usedMs }] of this.#sessions) {
      const isFull = this.#sessions.size > sessionsMax || bytes > bytesMax
      if (!isFull && usedMs >= idleSinceMs) return
      this.#sessions.delete(key)
      bytes -= variables.bytes
    }
  }

  #bytes(): number {
    return this.#sessions.values().reduce((sum, { variables }) => sum + variables.bytes, 0)
  }
}
