/** Maps addresses to views. Views needed later are loaded when opened. */
import { render } from 'preact'
import { LocationProvider, Route, Router } from 'preact-iso/router'
import { keepScrolled } from './components/after-navigation.ts'
import { lazyView } from './components/failure.tsx'
import { NotFoundView } from './shell/not-found-view.tsx'
import { Shell } from './shell/shell.tsx'
import { DropAnywhere } from './uploads/drop-anywhere.tsx'
import { UnsentFiles } from './uploads/sending-progress.tsx'
import { HomeView } from './views/home/home-view.tsx'

/** Excludes addresses that belong to the server itself. */
const SCOPE = /^\/(?!api\/|docs|v1\/|mcp|metrics|healthz|openapi)/

const KNOWLEDGE_BASE = '/projects/:project/knowledge_bases/:name'
const AGENT = '/projects/:project/agents/:name'

const NewKnowledgeBaseView = lazyView(async () => {
  return (await import('./views/add/new-knowledge-base-view.tsx')).NewKnowledgeBaseView
})
const ConnectionsView = lazyView(async () => {
  return (await import('./views/add/connections-view.tsx')).ConnectionsView
})
const AddDocumentsView = lazyView(async () => {
  return (await import('./views/add/add-documents-view.tsx')).AddDocumentsView
})
const DocumentsView = lazyView(async () => {
  return (await import('./views/knowledge-base/documents-view.tsx')).DocumentsView
})
const DocumentView = lazyView(async () => {
  return (await import('./views/knowledge-base/document-view.tsx')).DocumentView
})
const KnowledgeBaseSettingsView = lazyView(async () => {
  return (await import('./views/knowledge-base/settings-view.tsx')).KnowledgeBaseSettingsView
})
const SearchView = lazyView(async () => (await import('./views/search/search-view.tsx')).SearchView)
const MapView = lazyView(async () => (await import('./views/map/map-view.tsx')).MapView)
const SqlView = lazyView(async () => (await import('./views/sql/sql-view.tsx')).SqlView)
const NewAgentView = lazyView(async () => {
  return (await import('./views/agents/agent-settings-view.tsx')).NewAgentView
})
const AgentView = lazyView(async () => (await import('./views/agents/agent-view.tsx')).AgentView)
const AgentSettingsView = lazyView(async () => {
  return (await import('./views/agents/agent-settings-view.tsx')).AgentSettingsView
})
const TracesView = lazyView(async () => {
  return (await import('./views/agents/traces-view.tsx')).TracesView
})
const TraceView = lazyView(async () => (await import('./views/agents/trace-view.tsx')).TraceView)
const OperationsView = lazyView(async () => {
  return (await import('./views/operations/operations-view.tsx')).OperationsView
})

function Page() {
  return (
    <LocationProvider scope={SCOPE}>
      <Shell>
        <DropAnywhere />
        <UnsentFiles />
        <Router>
          <Route path="/" component={HomeView} />
          <Route path="/create/knowledge-base" component={NewKnowledgeBaseView} />
          <Route path="/connections" component={ConnectionsView} />
          <Route path="/create/agent" component={NewAgentView} />
          <Route path={KNOWLEDGE_BASE} component={DocumentsView} />
          <Route path={`${KNOWLEDGE_BASE}/documents/:id`} component={DocumentView} />
          <Route path={`${KNOWLEDGE_BASE}/add`} component={AddDocumentsView} />
          <Route path={`${KNOWLEDGE_BASE}/search`} component={SearchView} />
          <Route path={`${KNOWLEDGE_BASE}/map`} component={MapView} />
          <Route path={`${KNOWLEDGE_BASE}/settings`} component={KnowledgeBaseSettingsView} />
          <Route path={AGENT} component={AgentView} />
          <Route path={`${AGENT}/conversations/:conversation`} component={AgentView} />
          <Route path={`${AGENT}/settings`} component={AgentSettingsView} />
          <Route path={`${AGENT}/traces`} component={TracesView} />
          <Route path="/traces" component={TracesView} />
          <Route path="/traces/:id" component={TraceView} />
          <Route path="/sql" component={SqlView} />
          <Route path="/operations" component={OperationsView} />
          <Route path="/operations/:part" component={OperationsView} />
          <Route default component={NotFoundView} />
        </Router>
      </Shell>
    </LocationProvider>
  )
}

keepScrolled()
const root = document.getElementById('page')
if (root !== null) render(<Page />, root)
