import type { Journal } from "../journal/journal.ts";
import { dependencyFailed, dependencyUnknown, dependsOnItself } from "./failures.ts";
import type { Identities } from "./identities.ts";
import type { Failure } from "./outcome.ts";
import type { Run } from "./run.ts";

/**
 * Looks at what a new command depends on. Returns the failure it ends with at once, or `undefined` after noting in
 * `run.dependencies` what it has to wait for.
 *
 * A dependency must be known, so it always leads to a command that came earlier. A command also waits for its lane, that
 * is again for earlier ones. Hence nothing can wait in a circle: who names itself is told so here, and who names a
 * command that comes later names one that is not known yet.
 */
export function resolveDependencies(
	run: Run,
	{ identities, journal }: { identities: Identities; journal: Pick<Journal, "forgottenBefore"> },
): Failure | undefined {
	const { command, seat } = run.request;
	if (command.dependsOn === undefined) return undefined;
	for (const id of new Set(command.dependsOn)) {
		if (id === command.id) return dependsOnItself(id);
		const known = identities.byId(seat.tenant, id);
		if (known === undefined) {
			return dependencyUnknown(id, journal.forgottenBefore(seat.tenant.principal));
		}
		if (known.kind === "run") {
			run.dependencies ??= new Set();
			run.dependencies.add(known);
		} else if (!known.outcome.response.success) return dependencyFailed(id);
	}
	for (const dependency of run.dependencies ?? []) {
		dependency.dependents ??= new Set();
		dependency.dependents.add(run);
	}
	return undefined;
}

/** The command waits for nothing any more. */
export function dropDependencies(run: Run): void {
	for (const dependency of run.dependencies ?? []) dependency.dependents?.delete(run);
	run.dependencies = undefined;
}

/** Whether a command waits for one that the control path does not wait for. */
export function waitsForSlow(run: Run): boolean {
	for (const dependency of run.dependencies ?? []) {
		if (dependency.slow || dependency.lane?.isBehindSlow(dependency)) return true;
	}
	return false;
}
