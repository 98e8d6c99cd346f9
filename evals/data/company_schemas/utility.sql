CREATE TABLE District (DistrictId INTEGER PRIMARY KEY, DistrictName TEXT, Population INTEGER);
CREATE TABLE Street (StreetId INTEGER PRIMARY KEY, StreetName TEXT, DistrictId INTEGER);
CREATE TABLE Premise (
  PremiseId INTEGER PRIMARY KEY,
  StreetId INTEGER,
  HouseNo TEXT,
  UsageType TEXT, -- R residential, C commercial, P public building
  FloorArea REAL, -- square metres
  BuiltYear INTEGER,
  HasSolar INTEGER -- 1 when a photovoltaic system feeds in
);
CREATE TABLE Customer (CustomerId INTEGER PRIMARY KEY, CustomerNumber TEXT, FirstName TEXT, LastName TEXT, CompanyName TEXT, Email TEXT, Phone TEXT, CustomerSince DATE, PreferredContact TEXT);
CREATE TABLE Product (ProductCode TEXT PRIMARY KEY, ProductName TEXT, Commodity TEXT); -- Commodity: E electricity, G gas, W water, D district heating
CREATE TABLE Tariff (TariffId INTEGER PRIMARY KEY, ProductCode TEXT, TariffName TEXT, ValidFrom DATE, ValidTo DATE, BasePrice REAL /* EUR per month */, UnitPrice REAL /* ct per kWh or EUR per m3 */, IsGreen INTEGER);
CREATE TABLE Contract (ContractId INTEGER PRIMARY KEY, CustomerRef INTEGER, PremiseRef INTEGER, TariffRef INTEGER, StartDate DATE, EndDate DATE, CancelReason TEXT, BillingCycle TEXT, MonthlyInstalment REAL);
CREATE TABLE MeterModel (ModelId INTEGER PRIMARY KEY, Manufacturer TEXT, ModelName TEXT, IsSmart INTEGER, CalibrationYears INTEGER);
CREATE TABLE Meter (SerialNo TEXT PRIMARY KEY, ModelId INTEGER, PremiseId INTEGER, Commodity TEXT, InstalledOn DATE, RemovedOn DATE, CalibratedUntil DATE);
CREATE TABLE MeterReading (ReadingId INTEGER PRIMARY KEY, MeterSerial TEXT, ReadOn DATE, Reading REAL, ReadKind TEXT, IsPlausible INTEGER); -- ReadKind: A automatic, C by customer, E estimated, S by our staff
CREATE TABLE Bill (BillNo TEXT PRIMARY KEY, ContractId INTEGER, PeriodFrom DATE, PeriodTo DATE, IssuedOn DATE, DueOn DATE, NetAmount REAL, VatAmount REAL, Consumption REAL, BillStatus TEXT);
CREATE TABLE BillItem (BillItemId INTEGER PRIMARY KEY, BillNo TEXT, ItemType TEXT, Quantity REAL, Amount REAL);
CREATE TABLE Payment (PaymentId INTEGER PRIMARY KEY, BillNo TEXT, ReceivedOn DATE, Amount REAL, Method TEXT);
CREATE TABLE InstalmentPlan (PlanId INTEGER PRIMARY KEY, CustomerId INTEGER, AgreedOn DATE, TotalDebt REAL, Rates INTEGER, PlanStatus TEXT);
CREATE TABLE Reminder (ReminderId INTEGER PRIMARY KEY, BillNo TEXT, SentOn DATE, Level INTEGER, Fee REAL);
CREATE TABLE Disconnection (DisconnectionId INTEGER PRIMARY KEY, ContractId INTEGER, DoneOn DATE, RestoredOn DATE, Reason TEXT);
CREATE TABLE Outage (OutageId INTEGER PRIMARY KEY, Commodity TEXT, DistrictId INTEGER, StartedAt DATETIME, EndedAt DATETIME, Cause TEXT, IsPlanned INTEGER, AffectedPremises INTEGER);
CREATE TABLE Crew (CrewId INTEGER PRIMARY KEY, CrewName TEXT, Trade TEXT, DepotName TEXT);
CREATE TABLE Technician (TechnicianId INTEGER PRIMARY KEY, FullName TEXT, CrewId INTEGER, CertifiedUntil DATE);
CREATE TABLE WorkOrder (WorkOrderNo INTEGER PRIMARY KEY, PremiseId INTEGER, AssetTag TEXT, CrewId INTEGER, OrderKind TEXT, Priority INTEGER, OpenedOn DATE, ClosedOn DATE, LabourHours REAL, MaterialCost REAL, OutageId INTEGER);
CREATE TABLE Asset (AssetTag TEXT PRIMARY KEY, AssetKind TEXT, StreetId INTEGER, Material TEXT, CommissionedOn DATE, Diameter INTEGER /* mm */, LengthM REAL, ConditionGrade INTEGER);
CREATE TABLE Inspection (InspectionId INTEGER PRIMARY KEY, AssetTag TEXT, InspectedOn DATE, InspectorId INTEGER, Finding TEXT, GradeAfter INTEGER);
CREATE TABLE SamplePoint (SamplePointId INTEGER PRIMARY KEY, PointName TEXT, DistrictId INTEGER, PointType TEXT);
CREATE TABLE WaterSample (SampleId INTEGER PRIMARY KEY, SamplePointId INTEGER, TakenOn DATE, Laboratory TEXT);
CREATE TABLE SampleValue (SampleId INTEGER, Parameter TEXT, MeasuredValue REAL, Unit TEXT, LimitValue REAL, PRIMARY KEY (SampleId, Parameter));
CREATE TABLE Ticket (TicketId INTEGER PRIMARY KEY, CustomerId INTEGER, Channel TEXT, Topic TEXT, OpenedAt DATETIME, FirstReplyAt DATETIME, ClosedAt DATETIME, Satisfaction INTEGER);
CREATE TABLE WasteRoute (RouteId INTEGER PRIMARY KEY, RouteName TEXT, DistrictId INTEGER, WasteType TEXT, Weekday TEXT);
CREATE TABLE WasteTour (TourId INTEGER PRIMARY KEY, RouteId INTEGER, TourDate DATE, VehiclePlate TEXT, TonnesCollected REAL, MissedStops INTEGER);
CREATE TABLE Container (ContainerId INTEGER PRIMARY KEY, PremiseId INTEGER, WasteType TEXT, Litres INTEGER, DeliveredOn DATE);
CREATE VIEW ActiveContract AS SELECT ContractId, CustomerRef, PremiseRef, TariffRef, StartDate FROM Contract WHERE EndDate IS NULL;
CREATE VIEW OverdueBill AS SELECT BillNo, ContractId, DueOn, NetAmount + VatAmount AS Gross FROM Bill WHERE BillStatus = 'O' AND DueOn < '2026-10-31';
