import type { KnowledgeBase } from '../knowledge-base.ts'
import type { ModelRef } from '../model-ref.ts'
import type { McpServer } from './mcp-server.ts'

/** What an agent may read: `<project>.<knowledge base>`, `<data source>.<table>`, globs allowed. */
export interface AgentData {
  readonly knowledgeBases: readonly string[]
  readonly tables: readonly string[]
  /** The names are whole: a `*` in one is its own. */
  readonly isExact?: true
  /** Whose tools it may call. Missing: nobody's. */
  readonly mcp?: readonly McpServer[]
  /**
   * The namespaces that whoever named this data may use themselves: views that it reads lead nowhere else. Missing: they
   * may use all.
   */
  readonly within?: readonly string[]
}

/** What an agent's `data` stands for at one moment: its statements may read nothing else. */
export interface AllowedData {
  readonly knowledgeBases: readonly KnowledgeBase[]
  /** `files.<name>`, `<project>.<table or view>`. */
  readonly tables: readonly string[]
}

export interface AgentParams {
  readonly timeoutSeconds?: number
  readonly maxSteps?: number
  readonly mode?: 'text' | 'sql'
  readonly returnContext?: boolean
}

export interface Agent {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  /** null: the default of the settings, else the built-in one. */
  readonly model: ModelRef | null
  readonly data: AgentData | null
  readonly promptTemplate: string | null
  readonly params: AgentParams
  readonly createdAt: string
  readonly updatedAt: string
}

export type AgentDraft = Omit<Agent, 'id' | 'projectName' | 'createdAt' | 'updatedAt'>

export type AgentChanges = Partial<Omit<AgentDraft, 'projectId'>>

/** One turn of the conversation that a client sends. */
export interface ConversationTurn {
  readonly role: 'user' | 'assistant'
  readonly content: string
}
