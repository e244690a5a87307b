import { type KnowledgeBaseAddress, KnowledgeBaseFrame } from './knowledge-base-frame.tsx'

export function DocumentView({ project, name }: KnowledgeBaseAddress) {
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <p>DocumentView</p>
    </KnowledgeBaseFrame>
  )
}
