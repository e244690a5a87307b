import type { CompletionEvent } from '../../core/domain/agents/completion-event.ts'
import type { RefusedFeatures } from '../../core/domain/model-features.ts'
import type { Embedder } from '../../core/domain/ports/model-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import { type ActorTools, AgentActor } from '../actors/agent-actor.ts'
import type { AgentSeat } from '../actors/agent-thread.ts'
import { AgentThreads } from '../actors/agent-threads.ts'
import type { AgentTask } from '../actors/worker-messages.ts'
import { AGENT_LIMITS } from '../agent-limits.ts'
import type { ToolHost } from '../tools/tool-host.ts'
import { type OpenConversation, type Output, type Run, RunNotes } from './agent-question.ts'
import { progressEvent } from './completion-stream.ts'

export interface ThreadOptions {
  /** Threads started in advance. */
  readonly sparesMax: number
  /** The entry of the agents' thread. */
  readonly workerUrl: string
}

/** Requests of threads to the main thread, besides tools. */
export interface ThreadServices {
  /** The built-in embedder, for a model that ranks sentences. */
  readonly embed: Embedder['embed']
  /** Features that model servers refuse; unset: each question finds out. */
  readonly features?: RefusedFeatures
  /** Gives back what is held by nothing any more; it holds the main thread for some 50 ms. */
  readonly collect?: () => void
}

/** A question's dependencies on the main thread while its thread answers it. */
interface Asked {
  readonly host: ToolHost
  readonly run: Run
  readonly agentId: number
  /** Told of a summary of its oldest turns. */
  readonly conversation?: OpenConversation | undefined
}

/** Runs questions in threads that belong to one agent each, and records in their traces what happens. */
export class QuestionThreads {
  readonly #threads: AgentThreads
  readonly #services: ThreadServices
  /** Since the last collection. */
  #answered = 0

  constructor({ workerUrl, sparesMax }: ThreadOptions, services: ThreadServices) {
    this.#threads = new AgentThreads(workerUrl, sparesMax)
    this.#services = services
  }

  /** Questions to models of this provider are probably next: threads start and wait for them. */
  expect(provider: string): void {
    this.#threads.expect(provider)
    this.#threads.refill()
  }

  /**
   * The events between the start and the answer. When a thread with several questions stops, the others are asked again,
   * each in a separate thread, so that only the culprit fails there too. A question that has shown anything is not asked
   * again.
   */
  async *answer(
    task: AgentTask,
    asked: Asked,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Output> {
    signal.throwIfAborted()
    const owner = { agentId: asked.agentId, provider: task.model.provider }
    const shared = this.#threads.seat({ ...owner, isAlone: false })
    const shown = { any: false }
    try {
      return yield* this.#seated(shared, task, { ...asked, shown }, signal)
    } catch (error) {
      if (signal.aborted || shown.any || !shared.wasShared) throw error
    }
    const alone = this.#threads.seat({ ...owner, isAlone: true })
    return yield* this.#seated(alone, task, { ...asked, shown }, signal)
  }

  async *#seated(
    worker: AgentSeat,
    task: AgentTask,
    { host, run, conversation, shown }: Asked & { readonly shown: { any: boolean } },
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Output> {
    const notes = new RunNotes(host, run)
    const { embed, features } = this.#services
    const tools: ActorTools = {
      runTool: notes.runTool,
      embed,
      featureRefused: (feature) => features?.of(task.model).add(feature),
    }
    const actor = new AgentActor({ worker, task, tools })
    const stopListening = onAbort(signal, () => actor.stop(toAppError(signal.reason)))
    try {
      for await (const event of actor.events()) {
        if (event.type === 'output') return notes.output(event)
        if (event.type === 'start') notes.began()
        else if (event.type === 'turn') notes.turn(event)
        else if (event.type === 'summary') conversation?.summarised(event)
        else if (event.type !== 'end') {
          // An end without an output is not an answer.
          shown.any = true
          if (event.type === 'step') notes.step(event.step)
          yield progressEvent(event, run.traceId)
        }
      }
      const message = 'The agent stopped unexpectedly: its thread ended without an answer'
      throw new AppError('agent_crashed', message)
    } finally {
      stopListening()
      this.#threads.refill()
      this.#collectSometimes()
    }
  }

  /** Under steady load nothing else does in time: memory would grow by a fifth in 5 000 questions. */
  #collectSometimes(): void {
    this.#answered += 1
    if (this.#answered < AGENT_LIMITS.questionsPerCollection) return
    this.#answered = 0
    this.#services.collect?.()
  }

  close(): void {
    this.#threads.close()
  }
}
