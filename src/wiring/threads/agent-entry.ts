/**
 * The agents' thread: connects the agent loop with the messages of the main thread and the chat
 * models.
 */

import { heapSize } from 'bun:jsc'
import { parentPort } from 'node:worker_threads'
import type { ToThread } from '../../agents/actors/worker-messages.ts'
import { ThreadSessions } from '../../agents/actors/worker-session.ts'
import { newFeatureMemory } from '../../core/domain/model-ref.ts'

const agentPort = parentPort
if (agentPort === null) throw new Error('This file is the entry of a worker thread')

// Loaded before a question arrives, since this may be a spare thread. A provider's SDK is loaded
// once the provider is known.
const registry = import('../../models/registries/chat-registry.ts')

const sessions = new ThreadSessions({
  post: (messages) => agentPort.postMessage(messages),
  async chatModel(task, { embed, featureRefused }) {
    const { chatModelOf } = await registry
    const features = newFeatureMemory(task.refusedFeatures, featureRefused)
    return chatModelOf(task.model, task.chatDefaults, { embed, features, withinMs: task.timeoutMs })
  },
  async prepare(provider) {
    const { loadProvider } = await registry
    await loadProvider(provider)
  },
  heapBytes: heapSize,
})

agentPort.on('message', (message: ToThread) => {
  void sessions.receive(message)
})
