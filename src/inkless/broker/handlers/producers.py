"""InitProducerId: ids for idempotent producers. Transactions are refused with an error that clients take as final."""

from inkless.broker.router import Call
from inkless.broker.services import Services
from inkless.core.errors import ControlPlaneError
from inkless.wire.error_codes import ErrorCode
from inkless.wire.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def init_producer_id(services: Services, request: InitProducerIdRequest, call: Call) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        if request.transactional_id == "":
            return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
        return InitProducerIdResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, producer_epoch=-1)
    try:
        producer_id = await services.producer_ids.next()
    except ControlPlaneError:
        return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
