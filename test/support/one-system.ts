/** A real pi with some of the systems only. */
import { createPiHost } from "../../src/extension/pi-host.ts";
import { Session } from "../../src/session/index.ts";
import type { Spine, System } from "../../src/session/system.ts";
import type { NamedExtension } from "./pi-runtime.ts";

/** An extension that puts one system into pi and nothing else. */
export function oneSystem(name: string, create: (spine: Spine) => System): NamedExtension {
	return {
		name,
		factory: (api) => {
			const session = new Session(createPiHost(api), api);
			session.run([create(session)], () => {});
		},
	};
}
