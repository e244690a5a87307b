/** The types of the server's answers, derived from the schemas that describe and check them. */
import type * as agents from '../../api/http/answers/records/agent-schemas.ts'
import type * as catalog from '../../api/http/answers/records/catalog-schemas.ts'
import type * as knowledgeBases from '../../api/http/answers/records/knowledge-base-schemas.ts'
import type * as server from '../../api/http/answers/records/server-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import type { AUDIT_LIST, KEY, NEW_KEY, USER } from '../../api/http/routes/access-routes.ts'

export type NamedDatabase = Wire<typeof catalog.DATABASE>
export type KnowledgeBase = Wire<typeof knowledgeBases.KNOWLEDGE_BASE>
export type Agent = Wire<typeof agents.AGENT>
export type SavedAgent = Wire<typeof agents.SAVED_AGENT>
export type ServerStatus = Wire<typeof server.STATUS>
export type Job = Wire<typeof catalog.JOB>
export type JobList = Wire<typeof catalog.JOB_LIST>
export type DocumentList = Wire<typeof knowledgeBases.DOCUMENT_LIST>
export type UploadedFile = Wire<typeof server.FILE>
export type UploadedFiles = Wire<typeof server.FILE_LIST>
export type Source = Wire<typeof catalog.SOURCE>
export type Schedule = Wire<typeof catalog.SCHEDULE>
export type Backup = Wire<typeof catalog.BACKUP>
export type RunningRequest = Wire<typeof server.RUNNING_REQUEST>
export type AnsweredRequest = Wire<typeof server.ANSWERED_REQUEST>
export type ShownSetting = Wire<typeof server.SETTING>
export type UsageList = Wire<typeof server.USAGE_LIST>
export type Usage = UsageList['items'][number]
export type Health = Wire<typeof server.HEALTH>
export type Key = Wire<typeof KEY>
export type NewKey = Wire<typeof NEW_KEY>
export type User = Wire<typeof USER>
export type AuditList = Wire<typeof AUDIT_LIST>
export type AgentProbe = Wire<typeof agents.AGENT_PROBE>
export type Conversation = Wire<typeof agents.CONVERSATION>
export type ConversationList = Wire<typeof agents.CONVERSATION_LIST>
export type RunningQuestion = Wire<typeof agents.RUNNING_QUESTION>
export type Trace = Wire<typeof agents.TRACE>
export type TraceList = Wire<typeof agents.TRACE_LIST>
export type StoredDocument = Wire<typeof knowledgeBases.DOCUMENT>
export type DocumentTexts = Wire<typeof knowledgeBases.DOCUMENT_TEXTS>
export type ChunkList = Wire<typeof knowledgeBases.CHUNK_LIST>
export type SearchAnswer = Wire<typeof knowledgeBases.SEARCH_ANSWER>
