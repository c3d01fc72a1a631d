import { describeScriptDelivery } from "#tests/support/script/delivery-scenarios.ts";
import { startFakeOciServer } from "#tests/support/script/fake-oci-server.ts";

describeScriptDelivery(startFakeOciServer);
