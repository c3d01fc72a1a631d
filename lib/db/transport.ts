/** How the service door reaches a function: two ways, one behaviour (tests/contract/service-door.test.ts). */
export interface RpcTransport {
  /** Calls `public.<name>` with named arguments and gives its jsonb result. Names come from the generated list only. */
  call(name: string, args: Record<string, unknown>): Promise<unknown>;
  close(): Promise<void>;
}
